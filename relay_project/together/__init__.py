"""“Try N at once”: how a model bears several calls together, against one alone.

trial     sends them, through the same doors as everybody's calls
measure   what came back → a verdict on each, the gain, and a number of lanes: pure
words     all that in a person's language
"""
