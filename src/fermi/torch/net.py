"""`FermiNet`: any torch module as a fair classifier in scikit-learn's conventions."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from fermi._typing import Floats
from fermi.fitting import advice
from fermi.fitting.estimator import FairEstimator
from fermi.fitting.lam_search import DEAR
from fermi.fitting.problem import Problem
from fermi.torch._options import NetSettings
from fermi.torch._trainer import NetFit, NetTrainer
from fermi.torch.feed import predict_logits, read_rows


class FermiNet(FairEstimator[NetSettings, NetFit]):
    """A neural network whose predictions do not depend on a sensitive attribute.

    Minimises mean cross-entropy + `lam` × soft ERMI of the notion by the paper's Algorithm 1: a step of the optimizer
    for the network and an ascent step for the adversary W on each batch, of any size. Prediction never needs the
    sensitive attribute.

    Parameters
    ----------
    module : nn.Module, or function
        A network that returns one logit per class, which is copied and trained from its present weights; or a function
        of the numbers of features and classes that makes one, such as those of `fermi.torch.models`.
    fairness, lam, attributes, max_violation
        As in `FermiClassifier`. The search for λ trains the network some twenty times, labels take four.
    optimizer : "adam", "adamw", "sgd" or class
        What trains the network; a class or function is called with its parameters and `lr`.
    lr : float
        Learning rate of the network.
    lr_w : float or "auto"
        Learning rate of W. "auto" makes W a running mean whose memory suits batch size and λ.
    schedule : "linear" or "constant"
        Whether the network's rate falls to zero over all epochs. That of W does not, since W must follow.
    batch_size, max_epochs : int
        Rows per step, and passes over the rows.
    patience : int
        With an `eval_set`: epochs without a better objective on it after which training stops. The best epoch counts.
    radius : float, optional
        Keep W within this Frobenius norm.
    class_weight : dict, "balanced" or None
        What the rows of a class weigh in the loss.
    checkpoint : path, optional
        Save the state after each epoch here, and go on from there when the same `fit` is called again. The file goes
        when the fit is done.
    device : "auto", str or torch.device
        Where to train. "auto" is a GPU if there is one.
    decision : "auto", "argmax" or "labels"
        How `max_violation` is kept, as in `FermiClassifier`.
    random_state : int, Generator or RandomState, optional
        Seed of first weights, dropout, the order of rows and held-out rows.
    verbose : int
        1 shows progress on a terminal.

    Attributes
    ----------
    module_ : nn.Module
        The trained network, a plain torch module.
    classes_, groups_, dual_, lam_, lam_path_, decision_, held_out_
        As in `FermiClassifier`.
    n_iter_ : int
        Epochs made.
    history_ : list of dict
        After each epoch: epoch, step, seconds, loss, ermi, objective, dual_gap, over all training rows, and
        held_out_objective with an `eval_set`.

    Examples
    --------
    >>> import fermi
    >>> from fermi.torch import FermiNet, models
    >>> data = fermi.datasets.synthetic(n=2000, rated=False).numeric()
    >>> X = (data.X_train - data.X_train.mean()) / data.X_train.std()
    >>> net = FermiNet(models.logistic, lam=2.0, lr=0.02, random_state=0)
    >>> net.fit(X, data.y_train, sensitive_features=data.s_train).n_iter_
    20
    """

    _pace = DEAR

    def __init__(
        self,
        module: Any,
        fairness: Any = "demographic_parity",
        lam: float = 1.0,
        *,
        attributes: str = "intersection",
        max_violation: float | None = None,
        optimizer: Any = "adam",
        lr: float = 1e-3,
        lr_w: Any = "auto",
        schedule: str = "linear",
        batch_size: int = 64,
        max_epochs: int = 20,
        patience: int = 5,
        radius: float | None = None,
        class_weight: Any = None,
        checkpoint: Any = None,
        device: Any = "auto",
        decision: str = "auto",
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.module = module
        self.fairness = fairness
        self.lam = lam
        self.attributes = attributes
        self.max_violation = max_violation
        self.optimizer = optimizer
        self.lr = lr
        self.lr_w = lr_w
        self.schedule = schedule
        self.batch_size = batch_size
        self.max_epochs = max_epochs
        self.patience = patience
        self.radius = radius
        self.class_weight = class_weight
        self.checkpoint = checkpoint
        self.device = device
        self.decision = decision
        self.random_state = random_state
        self.verbose = verbose

    def decision_function(self, X: Any) -> Floats:
        """Logits of each row, from which probabilities and labels follow.

        Parameters
        ----------
        X : array, tensor, DataFrame or CSR matrix, n × …
            Rows as in training.

        Returns
        -------
        (n,) or (n, m) array
            The difference of the two logits where there are two classes, else one logit per class.
        """
        check_is_fitted(self)
        rows, _ = read_rows(self, X, reset=False)
        logits = predict_logits(self.module_, rows, next(self.module_.parameters()).device)
        return logits[:, 1] - logits[:, 0] if len(self.classes_) == 2 else logits

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.non_deterministic = self.random_state is None
        return tags

    def _settings(self) -> NetSettings:
        return NetSettings.read(self)

    def _features(self, X: Any, y: Any, settings: NetSettings, *, reset: bool) -> tuple[Any, Any]:
        return read_rows(self, X, y, reset=reset)

    def _trainer(self, problem: Problem, settings: NetSettings) -> NetTrainer:
        return NetTrainer(problem, settings)

    def _keep(self, fit: NetFit, problem: Problem, classes: NDArray[Any]) -> None:
        super()._keep(fit, problem, classes)
        self.module_, self.n_iter_ = fit.module, fit.n_iter
        self.dual_ = problem.joined_duals(fit.duals)

    def _after(self, fit: NetFit, problem: Problem, settings: NetSettings) -> None:
        advice.net_convergence(fit.history[-1], fit.n_iter, problem.n_classes)
