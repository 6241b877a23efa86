"""From columns of any kind to the numbers that the network takes."""

from idbpd.experiment.features.encoding import Encoded, encode, feature_names
from idbpd.experiment.features.fit import encoded, fit_encoding
from idbpd.experiment.features.scaling import scaling_for

__all__ = ["Encoded", "encode", "encoded", "feature_names", "fit_encoding", "scaling_for"]
