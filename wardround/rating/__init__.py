"""People's judgement of runs: blinded, on a page of this machine, and how far people and judges agree."""
