"""Compares docs/spec/audit.sh with `hkoji audit` on N rounds of logs with damaged times, from a seed.

    python -m tests.lab.agreement.audits 10 3

Each round has games with clocks, gifts, outages, rest days, timeouts, lapses and games called off: one as it was, and
one of every sort of damage to times (tests/lab/two_audits/timed_logs.py), signed again with all keys; each with
receipts and without. Prints every log on which the two differ, and the numbers by verdict; exits with 1 if any differ.
"""

from __future__ import annotations

from tests.lab.two_audits.measure import measure
from tests.lab.two_audits.timed_logs import time_cases

if __name__ == "__main__":
    measure(__doc__ or "", time_cases)
