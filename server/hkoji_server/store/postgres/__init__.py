"""The store on a PostgreSQL database."""
