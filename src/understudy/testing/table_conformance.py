"""The conformance suite for tables, for whoever carries rows from somewhere new. It asks
for exact counts, so it lives in the room of tables.
"""

from understudy.tables.conformance import check_table as check_table
