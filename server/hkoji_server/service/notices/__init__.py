"""Notices: how players choose to be told of events, and how the service tells them.

The outbox in the store has a row for each notice and channel. A process judges by the game as it is now whether a
notice that is due is still true, and has the courier of the channel's kind plan how it is sent (`delivery`). Only then
does it lease the row, send the notice and delete the row. After a crash between the last two a notice is sent twice,
with the same id.
"""
