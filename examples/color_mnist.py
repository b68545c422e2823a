"""Digits whose colour tells the label in training alone; pip install "fermi-fair[torch]"."""

import torch

import fermi
from fermi.torch import FermiRegularizer, models

# Every training digit is tinted in the colour of its class, and every test digit is grey. A plain network learns the
# colours and fails; one whose prediction must not depend on the colour has to learn the shapes.


def main(lams: tuple[float, ...] = (0.0, 4.0), steps: int = 200, size: int = 256) -> list[float]:
    """Train a network on tinted digits for each λ; return the accuracies on grey ones."""
    data = fermi.datasets.load("color_mnist", sigma=0.1, random_state=4)
    tinted, grey = (torch.tensor(x[:20_000, :, ::2, ::2]).flatten(1) for x in data.images())
    y, s = torch.tensor(data.y_train.to_numpy()), torch.tensor(fermi.GroupEncoder().fit_transform(data.s_train))
    mean, scale, accuracies = tinted.mean(), tinted.std(), []
    for lam in lams:
        torch.manual_seed(0)
        net, reg = models.mlp(tinted.shape[1], 10), FermiRegularizer.from_labels(s, n_classes=10, lam=lam)
        # Plain ascent at this rate makes W a running mean over a few batches, as docs/torch.md explains.
        optimizers = torch.optim.Adam(net.parameters()), torch.optim.SGD(reg.parameters(), lr=4 / (2 * max(lam, 1)))
        for _ in range(steps):
            rows = torch.randint(len(tinted), (size,))
            logits = net((tinted[rows] - mean) / scale)
            loss = torch.nn.functional.cross_entropy(logits, y[rows]) + reg(logits, s[rows])
            for optimizer in optimizers:
                optimizer.zero_grad()
            loss.backward()
            for optimizer in optimizers:
                optimizer.step()
        labels = net((grey - mean) / scale).argmax(1)
        accuracies.append(float((labels == torch.tensor(data.y_test.to_numpy())).float().mean()))
        print(f"lam={lam:g}: accuracy on grey digits {accuracies[-1]:.3f}")
    return accuracies


if __name__ == "__main__":
    main()
