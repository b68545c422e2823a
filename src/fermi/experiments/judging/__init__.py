"""From records to statements: errors within a bound, comparisons, and verdicts on the paper's claims."""
