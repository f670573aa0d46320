"""The database: tables, migrations and one module per noun that reads and writes them."""
