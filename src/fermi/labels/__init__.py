"""`FairLabels`: labels within a bound from the probabilities of any classifier, trained here or by somebody else."""

from fermi.labels.classifier import FairLabels as FairLabels
