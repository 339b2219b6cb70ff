"""The time by which the service decides.

An entry gets its time of record from the service. So the service must not trust a clock that jumps, and nobody may
lose a game because the service was away. Each process notes the time in the store, its beat; a long gap between two
beats is an outage, which is recorded, and during which no player's time runs. `drained` returns a time before which
nothing new will be dated, so late entries have a bound.
"""
