"""The cards of sealed games: locks, shares, and proofs about cards that are played. docs/spec/sealed.md.

It knows no course of a game and no client. `ristretto` and `group` are the mathematics, `lock` and `proofs` the proofs.
"""
