"""Where games are kept. `contract` says what a store does; `sqlite` is one; rows and SQL never leave this package."""
