"""The storage of games. `contract` defines a store, which `sqlite` and `postgres` implement. SQL stays in here."""
