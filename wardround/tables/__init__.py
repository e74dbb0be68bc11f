"""Tables of finished runs, as the papers print them: one file a table, typed cells, three ways to write them down."""
