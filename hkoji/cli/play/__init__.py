"""The group "Play": games at the prompt, rules and cards, and bots."""
