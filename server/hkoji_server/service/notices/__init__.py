"""Notices: how players choose to be told of events, and how the service tells them.

The outbox in the store has a row for each notice and channel. A process leases rows that are due, judges by the game
as it is now whether each is still true, and gives it to the courier of the channel's kind (`delivery`). It deletes a
row after the courier has sent it; after a crash between the two a notice is sent twice, with the same id.
"""
