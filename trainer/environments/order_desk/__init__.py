"""The order desk: a small shop with tools, written requests, and a company policy that no agent is told."""

from __future__ import annotations

from trainer.environments.order_desk.cases import suites
from trainer.environments.order_desk.desk import OrderDesk, make

__all__ = ["OrderDesk", "make", "suites"]
