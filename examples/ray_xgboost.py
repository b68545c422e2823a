"""Fair trees on many machines, XGBoost under Ray Train; pip install "fermi-fair[boosting,ray]"."""

import numpy as np
import xgboost
from ray import train
from ray.train.xgboost import RayTrainReportCallback, XGBoostTrainer

import fermi
from fermi.boosting import objective

PARAMS = {"learning_rate": 0.3, "max_depth": 4, "tree_method": "hist", "objective": "binary:logistic", "nthread": 1}


def rows() -> fermi.datasets.Dataset:
    return fermi.datasets.synthetic(4000, bias=0.9, rated=False).numeric()


def train_worker(config: dict) -> None:
    """Grow trees on this worker's share of the rows, from the last checkpoint if there is one."""
    rank, size = train.get_context().get_world_rank(), train.get_context().get_world_size()
    data = rows()  # of which a worker would read its own files alone
    own = np.arange(len(data.y_train)) % size == rank
    x, y, s = data.X_train[own], data.y_train[own], data.s_train[own]
    fair = objective(s, y, lam=config["lam"], learning_rate=PARAMS["learning_rate"], distributed=True)
    booster, checkpoint = None, train.get_checkpoint()
    if checkpoint:
        booster = RayTrainReportCallback.get_model(checkpoint)
    xgboost.train(
        {**PARAMS, "base_score": 1 / (1 + np.exp(-fair.start[0])), "disable_default_eval_metric": True},
        xgboost.QuantileDMatrix(x, fair.target),
        config["rounds"] - (booster.num_boosted_rounds() if booster else 0),
        obj=fair.xgboost,
        xgb_model=booster,
        callbacks=[RayTrainReportCallback(frequency=5)],
    )


def main(lam: float = 10.0, rounds: int = 30, storage: str | None = None) -> tuple[float, float]:
    """Train with `lam` times the fairness term; return accuracy and parity gap on the test rows."""
    workers = train.ScalingConfig(num_workers=2)
    run = train.RunConfig(storage_path=storage, failure_config=train.FailureConfig(max_failures=1))
    config = {"lam": lam, "rounds": rounds}
    result = XGBoostTrainer(train_worker, train_loop_config=config, scaling_config=workers, run_config=run).fit()
    booster = RayTrainReportCallback.get_model(result.checkpoint)
    data = rows()
    labels = (booster.predict(xgboost.DMatrix(data.X_test)) > 0.5).astype(int)
    accuracy, gap = float((labels == data.y_test).mean()), fermi.parity_difference(labels, data.s_test)
    print(f"lam={lam:g}: accuracy {accuracy:.3f}, parity gap {gap:.3f}")
    return accuracy, gap


if __name__ == "__main__":
    main()
