"""The fairness term in an Accelerate loop; pip install "fermi-fair[torch]" accelerate."""

import torch
from accelerate import Accelerator
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, TensorDataset

import fermi
from fermi.torch import FermiRegularizer


def main(lam: float = 10.0) -> tuple[float, float]:
    """Train with `lam` times the fairness term; return accuracy and parity gap on the test rows."""
    data = fermi.datasets.synthetic(4000, bias=0.9, rated=False).numeric()
    x, y = torch.tensor(data.X_train.to_numpy("float32")), torch.tensor(data.y_train.to_numpy())
    s = torch.tensor(fermi.GroupEncoder().fit_transform(data.s_train))  # group codes 0, 1, ...

    torch.manual_seed(0)
    accelerator = Accelerator()
    model, reg = torch.nn.Linear(x.shape[1], 2), FermiRegularizer.from_labels(s, n_classes=2, lam=lam)
    optimizer = torch.optim.Adam([{"params": model.parameters()}, {"params": reg.parameters(), "lr": 0.1}])
    loader = DataLoader(TensorDataset(x, y, s), batch_size=32, shuffle=True)
    model, reg, optimizer, loader = accelerator.prepare(model, reg, optimizer, loader)
    for _ in range(10):
        for x, y, s in loader:
            logits = model(x)
            optimizer.zero_grad()
            accelerator.backward(cross_entropy(logits, y) + reg(logits, s))
            optimizer.step()

    x = torch.tensor(data.X_test.to_numpy("float32"), device=accelerator.device)
    labels = model(x).argmax(1).cpu().numpy()
    accuracy, gap = float((labels == data.y_test).mean()), fermi.parity_difference(labels, data.s_test)
    accelerator.print(f"lam={lam:g}: accuracy {accuracy:.3f}, parity gap {gap:.3f}")
    return accuracy, gap


if __name__ == "__main__":
    main()
