"""The fairness term in a LightningModule; pip install "fermi-fair[torch]" lightning."""

import lightning
import torch

import fermi.torch


class FairNet(lightning.LightningModule):
    def __init__(self, model: torch.nn.Module, reg: fermi.torch.FermiRegularizer) -> None:
        super().__init__()
        self.model, self.reg = model, reg  # as a submodule, W is moved and checkpointed with the rest

    def training_step(self, batch: list[torch.Tensor]) -> torch.Tensor:
        x, y, s = batch
        logits = self.model(x)
        return torch.nn.functional.cross_entropy(logits, y) + self.reg(logits, s)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.Adam([{"params": self.model.parameters()}, {"params": self.reg.parameters(), "lr": 0.1}])


def main(lam: float = 10.0) -> tuple[float, float]:
    """Train with `lam` times the fairness term; return accuracy and parity gap on the test rows."""
    data = fermi.datasets.synthetic(4000, bias=0.9, rated=False).numeric()
    x, y = torch.tensor(data.X_train.to_numpy("float32")), torch.tensor(data.y_train.to_numpy())
    s = torch.tensor(fermi.GroupEncoder().fit_transform(data.s_train))  # group codes 0, 1, ...
    lightning.seed_everything(0)
    module = FairNet(torch.nn.Linear(x.shape[1], 2), fermi.torch.FermiRegularizer.from_labels(s, n_classes=2, lam=lam))
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y, s), batch_size=32, shuffle=True)
    lightning.Trainer(max_epochs=10, logger=False, enable_checkpointing=False).fit(module, loader)
    labels = module.model(torch.tensor(data.X_test.to_numpy("float32"))).argmax(1).numpy()
    accuracy, gap = float((labels == data.y_test).mean()), fermi.parity_difference(labels, data.s_test)
    print(f"lam={lam:g}: accuracy {accuracy:.3f}, parity gap {gap:.3f}")
    return accuracy, gap


if __name__ == "__main__":
    main()
