"""A run as one page to send on: `facts` gathers, `pictures` draws, `page` puts together."""
