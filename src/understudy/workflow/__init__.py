"""From rows to release, and what it would cost: the verbs behind the command line and
`import understudy`.
"""
