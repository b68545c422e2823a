"""The fairness term in an ordinary PyTorch loop; pip install "fermi-fair[torch]"."""

import torch
from torch.nn.functional import cross_entropy

import fermi
from fermi.torch import FermiRegularizer


def main(lam: float = 10.0) -> tuple[float, float]:
    """Train with `lam` times the fairness term; return accuracy and parity gap on the test rows."""
    data = fermi.datasets.synthetic(4000, bias=0.9, rated=False).numeric()
    x, y = torch.tensor(data.X_train.to_numpy("float32")), torch.tensor(data.y_train.to_numpy())
    s = torch.tensor(fermi.GroupEncoder().fit_transform(data.s_train))  # group codes 0, 1, ...

    torch.manual_seed(0)
    model = torch.nn.Linear(x.shape[1], 2)
    reg = FermiRegularizer.from_labels(s, n_classes=2, lam=lam)
    # W has to keep up with the model, hence a faster learning rate of its own.
    optimizer = torch.optim.Adam([{"params": model.parameters()}, {"params": reg.parameters(), "lr": 0.1}])
    for _ in range(10):
        for rows in torch.randperm(len(y)).split(32):
            logits = model(x[rows])
            loss = cross_entropy(logits, y[rows]) + reg(logits, s[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    labels = model(torch.tensor(data.X_test.to_numpy("float32"))).argmax(1).numpy()
    accuracy, gap = float((labels == data.y_test).mean()), fermi.parity_difference(labels, data.s_test)
    print(f"lam={lam:g}: accuracy {accuracy:.3f}, parity gap {gap:.3f}")
    return accuracy, gap


if __name__ == "__main__":
    main()
