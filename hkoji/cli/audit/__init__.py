"""`hkoji audit`: the command, its report, and audits of many logs."""
