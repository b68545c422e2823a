"""Digits whose colour tells the label in training alone; pip install "fermi-fair[torch]"."""

import torch

import fermi
from fermi.torch import FermiRegularizer, models

# Every training digit is tinted in the colour of its class, and every test digit is grey. A plain network learns the
# colours and fails; one whose prediction must not depend on the colour has to learn the shapes.


def main(lam: float = 4.0, steps: int = 200, size: int = 512) -> float:
    """Train on tinted digits; return the accuracy on grey ones."""
    torch.manual_seed(0)
    data = fermi.datasets.load("color_mnist", sigma=0.1, random_state=4)
    mean, scale = data.X_train.to_numpy().mean(), data.X_train.to_numpy().std()
    x = torch.from_numpy((data.X_train.to_numpy() - mean) / scale)
    y, s = torch.tensor(data.y_train.to_numpy()), torch.tensor(fermi.GroupEncoder().fit_transform(data.s_train))
    net, reg = models.mlp(x.shape[1], 10), FermiRegularizer.from_labels(s, n_classes=10, lam=lam)
    # Plain ascent at this rate makes W a running mean over a few batches, as docs/torch.md explains.
    optimizers = torch.optim.Adam(net.parameters()), torch.optim.SGD(reg.parameters(), lr=4 / (2 * max(lam, 1)))
    for _ in range(steps):
        rows = torch.randint(len(y), (size,))
        logits = net(x[rows])
        loss = torch.nn.functional.cross_entropy(logits, y[rows]) + reg(logits, s[rows])
        for optimizer in optimizers:
            optimizer.zero_grad()
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()
    with torch.no_grad():
        labels = net(torch.from_numpy((data.X_test.to_numpy() - mean) / scale)).argmax(1).numpy()
    accuracy = float((labels == data.y_test).mean())
    print(f"lam={lam:g}: accuracy on grey digits {accuracy:.3f}")
    return accuracy


if __name__ == "__main__":
    main()
