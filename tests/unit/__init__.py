"""One module or class by itself, where no command shows what it does.

In: values made by the test. Out: what the functions return, raise or write.
"""
