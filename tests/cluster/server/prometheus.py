"""A real Prometheus that reads /metrics of tasks, and knows our alerts."""
import json
import os
import shutil
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

from tests.cluster.cluster import wait_until
from tests.cluster.ports import free_ports
from tests.cluster.runner import Skip, die_with_parent

GRAFANA = "docs/grafana"
SOON = 20


def tool(name):
    """The path of a program of Debian's package prometheus."""
    path = shutil.which(name)
    if not path:
        raise Skip("no %s here" % name)
    return path


CONFIG = """
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [%s]
scrape_configs:
  - job_name: tfd
    static_configs: [{targets: [%s]}]
"""


class Prometheus:
    """A Prometheus that scrapes the tasks of a cluster; what stands before its
    command may start it in another way."""

    def __init__(self, folder, tasks, before=()):
        config = os.path.join(folder, "prometheus.yml")
        with open(config, "w") as file:
            file.write(CONFIG % (
                os.path.abspath(os.path.join(GRAFANA, "alerts.yml")),
                ", ".join('"127.0.0.1:%d"' % task.port for task in tasks)))
        self.url = "http://127.0.0.1:%d" % free_ports(1)[0]
        self.log = open(os.path.join(folder, "prometheus.log"), "w+")
        self.process = subprocess.Popen(
            [*before, tool("prometheus"), "--config.file=" + config,
             "--storage.tsdb.path=" + os.path.join(folder, "data"),
             "--web.listen-address=" + self.url.partition("//")[2]],
            stdout=self.log, stderr=self.log, preexec_fn=die_with_parent)

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self.process.kill()
        self.process.wait()
        self.log.close()

    def get(self, path, **arguments):
        """The data of an answer; None before it answers, or while it answers
        that it is not ready yet."""
        try:
            with urllib.request.urlopen("%s%s?%s" % (
                    self.url, path, urllib.parse.urlencode(arguments)),
                    timeout=SOON) as page:
                answer = json.load(page)
        except urllib.error.HTTPError as error:
            if error.code == 503:
                return None
            raise AssertionError("%s: %s" % (arguments, error.read().decode()))
        except (urllib.error.URLError, ConnectionError):
            assert self.process.poll() is None, "Prometheus has ended"
            return None
        assert answer["status"] == "success", answer
        return answer["data"]

    def query(self, text):
        """[(labels, value)]; an error in the query is a failure."""
        data = self.get("/api/v1/query", query=text)
        return data and [(one["metric"], float(one["value"][1]))
                         for one in data["result"]]

    def rules(self):
        """{name: query} of the alerts that it has read."""
        data = wait_until(lambda: self.get("/api/v1/rules"), SOON, "rules")
        return {rule["name"]: rule["query"] for group in data["groups"]
                for rule in group["rules"]}

    def wait(self, text, good=bool):
        return wait_until(lambda: (lambda said: said and good(said) and said)(
            self.query(text)), SOON, text)

    def wait_for_news(self):
        """Until every task was read after this call."""
        now = time.time()
        self.wait('min(timestamp(up{job="tfd"}))',
                  lambda said: said[0][1] > now)
