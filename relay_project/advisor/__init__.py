"""The advisor: figures that do not fit together, said in sentences before somebody is refused because of them.

evidence   rows of the database → facts, in a fixed number of queries
rules      facts → advice: pure, one function a rule, no words
words      advice → a sentence in the reader's language
"""
