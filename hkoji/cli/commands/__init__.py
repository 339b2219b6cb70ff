"""The commands with their options and help, by what they are for. Each imports what it needs when it runs."""
