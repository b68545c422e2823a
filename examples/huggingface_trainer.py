"""The fairness term in the Hugging Face Trainer; pip install "fermi-fair[torch]" "transformers[torch]"."""

import torch
from transformers import DistilBertConfig, DistilBertForSequenceClassification, Trainer, TrainingArguments, set_seed

import fermi.torch


class FairTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        sensitive = inputs.pop("sensitive")
        outputs = model(**inputs)
        loss = outputs.loss + self.model.reg(outputs.logits, sensitive)
        return (loss, outputs) if return_outputs else loss


def main(lam: float = 10.0) -> tuple[float, float]:
    """Train with `lam` times the fairness term; return accuracy and parity gap on the test rows."""
    set_seed(0)
    s, words = torch.arange(3000) % 2, torch.randint(4, 50, (3000, 8))
    words[:, 0] = 2 + s  # the first word tells the group
    y = ((words[:, 1:] < 27).sum(1) + 2 * s + torch.randn(3000) > 4.5).long()
    rows = [{"input_ids": words[i], "labels": y[i], "sensitive": s[i]} for i in range(3000)]
    model = DistilBertForSequenceClassification(DistilBertConfig(vocab_size=50, dim=48, hidden_dim=64, n_layers=1))
    model.accepts_loss_kwargs = False  # compute_loss gives a mean; the Trainer divides it if it accumulates gradients
    reg = fermi.torch.FermiRegularizer.from_labels(s[:2000], n_classes=2, lam=lam)
    optimizer = torch.optim.Adam([{"params": list(model.parameters())}, {"params": reg.parameters(), "lr": 0.1}])
    model.reg = reg  # the Trainer moves, saves and zeroes the gradients of what is in the model
    args = TrainingArguments(num_train_epochs=10, per_device_train_batch_size=32, save_strategy="no")
    args.remove_unused_columns = args.ddp_find_unused_parameters = False  # compute_loss uses what forward does not
    FairTrainer(model, args, train_dataset=rows[:2000], optimizers=(optimizer, None)).train()
    labels = model.eval()(words[2000:].to(model.device)).logits.argmax(1).cpu()
    accuracy, gap = float((labels == y[2000:]).float().mean()), fermi.parity_difference(labels, s[2000:])
    print(f"lam={lam:g}: accuracy {accuracy:.3f}, parity gap {gap:.3f}")
    return accuracy, gap


if __name__ == "__main__":
    main()
