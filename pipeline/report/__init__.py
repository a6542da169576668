"""A run or an answer as one page: `facts` gathers, `pictures` draws, `page` puts together.

In: a published run, or the record of an answer. Out: one file of HTML to send on, which fetches
nothing.
"""
