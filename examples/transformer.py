"""The fairness term with a small transformer over sequences of tokens; pip install "fermi-fair[torch]"."""

import torch
from torch import nn
from torch.nn.functional import cross_entropy

import fermi
from fermi.torch import FermiRegularizer


def main(lam: float = 5.0, n: int = 3000) -> tuple[float, float]:
    """Train on made-up texts in which some words go with the group; return accuracy and gap on the last third."""
    torch.manual_seed(0)
    s, merit = torch.randint(2, (n,)), torch.randn(n)
    x = torch.where(torch.rand(n, 12) < torch.sigmoid(merit)[:, None], 0, 10) + torch.randint(5, (n, 12))
    x = torch.where(torch.rand(n, 12) < 0.3, 5 + 10 * s[:, None] + torch.randint(5, (n, 12)), x)  # words of the group
    y, cut = (merit + 0.8 * (0.5 - s) + 0.3 * torch.randn(n) < 0).long(), 2 * n // 3
    layer = nn.TransformerEncoderLayer(32, nhead=2, dim_feedforward=64, dropout=0.0, batch_first=True)
    embed, encode, head = (
        nn.Embedding(20, 32),
        nn.TransformerEncoder(layer, 1, enable_nested_tensor=False),
        nn.Linear(32, 2),
    )
    model, reg = nn.ModuleList([embed, encode, head]), FermiRegularizer.from_labels(s[:cut], n_classes=2, lam=lam)
    optimizer = torch.optim.Adam([{"params": model.parameters(), "lr": 3e-3}, {"params": reg.parameters(), "lr": 0.1}])
    for rows in (rows for _ in range(8) for rows in torch.randperm(cut).split(64)):
        logits = head(encode(embed(x[rows])).mean(dim=1))
        optimizer.zero_grad()
        (cross_entropy(logits, y[rows]) + reg(logits, s[rows])).backward()
        optimizer.step()
    labels = head(encode(embed(x[cut:])).mean(dim=1)).argmax(1)
    found = float((labels == y[cut:]).float().mean()), fermi.parity_difference(labels.numpy(), s[cut:].numpy())
    print(f"lam={lam:g}: accuracy {found[0]:.3f}, parity gap {found[1]:.3f}")
    return found


if __name__ == "__main__":
    main()
