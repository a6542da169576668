"""The automation of docs/operations.md, on a real Prefect server, with a real webhook."""

from __future__ import annotations

import re

import pytest
import yaml
from prefect.testing.cli import invoke_and_assert

from bicliq.flows.etl import etl
from tests.integration.server import wait_for
from tests.integration.test_notify import Webhook, webhook  # noqa: F401
from tests.real_graphs import DATA

PAGE = DATA.parents[1] / "docs" / "operations.md"


def create(name: str, hook: Webhook, folder) -> None:
    """Make an automation of the page, with a block that posts to a webhook of ours."""
    from prefect.blocks.notifications import CustomWebhookNotificationBlock

    (text,) = re.findall(rf"```yaml\n(name: {name}\n.*?)```", PAGE.read_text(), re.DOTALL)
    block = CustomWebhookNotificationBlock(name="hook", url=hook.url, json_data={"s": "{{subject}}", "b": "{{body}}"})
    automation = yaml.safe_load(text)
    automation["actions"][0]["block_document_id"] = str(block.save(f"hook-of-{name}", overwrite=True))
    file = folder / f"{name}.yaml"
    file.write_text(yaml.safe_dump(automation))
    invoke_and_assert(["automation", "create", "--from-file", str(file)])


@pytest.mark.usefixtures("prefect_server")
def test_the_automations_of_the_docs_tell_a_webhook_what_a_flow_found(tmp_path, webhook: Webhook):  # noqa: F811
    from prefect import tags

    create("bicliq-tells", webhook, tmp_path)
    create("bicliq-groups", webhook, tmp_path)
    asked = {"store": str(tmp_path / "store"), "cluster": {"local": True}}
    with tags("bicliq"):
        record = etl(str(DATA / "UCforum.adj"), {**asked, "notify": {"webhook_edges": 40, "webhook_groups": 75}})
        etl(str(DATA / "UCforum.adj"), {**asked, "notify": {"webhook_edges": 40, "webhook_groups": 76}})
    told = wait_for(lambda: next((t for t in webhook.told if record["digest"] in t["b"]), None), 60)
    assert told["b"].startswith("16,261 maximal bicliques")
    assert told["s"].endswith(": Completed")
    wait_for(lambda: len(webhook.told) >= 3, 60)
    (groups,) = [t for t in webhook.told if "of at least 40 edges" in t["s"]]
    assert groups["s"] == f"{record['run']}: 75 bicliques of at least 40 edges, and 75 are worth a notification"
    assert groups["b"].startswith(f"Bicliq: run {record['run']} finished")
