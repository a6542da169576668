"""The automation of docs/operations.md, on a real Prefect server, with a real webhook."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
import yaml

from flows.etl import etl
from tests.integration.server import wait_for
from tests.integration.test_notify import Webhook, webhook  # noqa: F401
from tests.real_graphs import DATA

PAGE = DATA.parents[1] / "docs" / "operations.md"


@pytest.mark.usefixtures("prefect_server")
def test_the_automation_of_the_docs_tells_a_webhook_what_a_flow_found(tmp_path, webhook: Webhook):  # noqa: F811
    from prefect import tags
    from prefect.blocks.notifications import CustomWebhookNotificationBlock

    (text,) = re.findall(r"```yaml\n(name: bicliq-tells.*?)```", PAGE.read_text(), re.DOTALL)
    block = CustomWebhookNotificationBlock(
        name="hook", url=webhook.url, json_data={"s": "{{subject}}", "b": "{{body}}"}
    )
    automation = yaml.safe_load(text)
    automation["actions"][0]["block_document_id"] = str(block.save("automation-of-the-docs", overwrite=True))
    (tmp_path / "automation.yaml").write_text(yaml.safe_dump(automation))
    create = ("prefect", "automation", "create", "--from-file", str(tmp_path / "automation.yaml"))
    done = subprocess.run([sys.executable, "-m", *create], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    with tags("bicliq"):
        record = etl(str(DATA / "UCforum.adj"), {"store": str(tmp_path / "store"), "cluster": {"local": True}})
    told = wait_for(lambda: next((t for t in webhook.told if record["digest"] in t["b"]), None), 60)
    assert told["b"].startswith("16,261 maximal bicliques")
    assert told["s"].endswith(": Completed")
