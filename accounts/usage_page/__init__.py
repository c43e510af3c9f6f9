"""What a member sees of their own requests: `/usage/`.

period.py   which stretch of time       figures.py   the database's sums
chart.py    sums into a picture         stories.py   one row into sentences
words.py    codes into words
"""
