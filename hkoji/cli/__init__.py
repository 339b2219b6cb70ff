"""The command line: Typer commands over `hkoji.client`, rendering for people and as JSON, exit codes."""
