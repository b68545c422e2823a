"""The fairness term in Ray Train, with checkpoints; pip install "fermi-fair[torch]" "ray[train]"."""

import tempfile

import torch
from ray import train
from ray.train.torch import TorchTrainer, get_device, prepare_data_loader, prepare_model
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, TensorDataset

import fermi
from fermi.torch import FermiRegularizer


def train_worker(config: dict) -> None:
    """Train on this worker's share of the rows, from the last checkpoint if there is one."""
    data = fermi.datasets.synthetic(4000, bias=0.9, rated=False).numeric()
    x, y = torch.tensor(data.X_train.to_numpy("float32")), torch.tensor(data.y_train.to_numpy())
    s = torch.tensor(fermi.GroupEncoder().fit_transform(data.s_train))  # group codes 0, 1, ...
    loader = prepare_data_loader(DataLoader(TensorDataset(x, y, s), batch_size=16, shuffle=True))
    torch.manual_seed(0)
    model = torch.nn.Linear(x.shape[1], 2)
    reg = FermiRegularizer.from_labels(s, n_classes=2, lam=config["lam"]).to(get_device())
    optimizer = torch.optim.Adam([{"params": model.parameters()}, {"params": reg.parameters(), "lr": 0.1}])
    parts, first_epoch = {"model": model, "reg": reg, "optimizer": optimizer}, 0
    if checkpoint := train.get_checkpoint():
        with checkpoint.as_directory() as folder:
            state = torch.load(f"{folder}/state.pt")
        for name, part in parts.items():
            part.load_state_dict(state[name])
        first_epoch = state["epoch"] + 1
    parallel = prepare_model(model)
    for epoch in range(first_epoch, config["epochs"]):
        loader.sampler.set_epoch(epoch)  # another order in each epoch, and the same one after a restart
        for x, y, s in loader:
            logits = parallel(x)
            optimizer.zero_grad()
            (cross_entropy(logits, y) + reg(logits, s)).backward()
            optimizer.step()
        with tempfile.TemporaryDirectory() as folder:
            torch.save({"epoch": epoch} | {key: part.state_dict() for key, part in parts.items()}, f"{folder}/state.pt")
            own = train.Checkpoint(folder) if train.get_context().get_world_rank() == 0 else None  # W is equal on all
            train.report({"epoch": epoch}, checkpoint=own)


def main(lam: float = 10.0, epochs: int = 10, storage: str | None = None) -> tuple[float, float]:
    """Train with `lam` times the fairness term; return accuracy and parity gap on the test rows."""
    config, workers = {"lam": lam, "epochs": epochs}, train.ScalingConfig(num_workers=2)
    run = train.RunConfig(storage_path=storage, failure_config=train.FailureConfig(max_failures=1))
    result = TorchTrainer(train_worker, train_loop_config=config, scaling_config=workers, run_config=run).fit()
    weights = torch.load(f"{result.checkpoint.path}/state.pt")["model"]
    data = fermi.datasets.synthetic(4000, bias=0.9, rated=False).numeric()
    labels = torch.nn.functional.linear(torch.tensor(data.X_test.to_numpy("float32")), **weights).argmax(1).numpy()
    accuracy, gap = float((labels == data.y_test).mean()), fermi.parity_difference(labels, data.s_test)
    print(f"lam={lam:g}: accuracy {accuracy:.3f}, parity gap {gap:.3f}")
    return accuracy, gap


if __name__ == "__main__":
    main()
