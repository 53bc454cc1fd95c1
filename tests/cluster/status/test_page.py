"""The page at /, in a real browser."""
import http.client
import re
import signal

from tests.cluster.client import (
    graph, kept_session, np, plain_config, tf)
from tests.cluster.cluster import Cluster, wait_until
from tests.cluster.faults.test_kills import outcome
from tests.cluster.status.browser import Browser
from tests.cluster.status.document import read, states
from tests.cluster.suite import test

TFD = dict(tfd_only=True)
ONE = dict(tfd_only=True, worker=1)
LIVE = "document.getElementById('live').textContent === 'live'"

CHARTED = ("['rate', 'time'].every((id) => (document.querySelector("
           "'#' + id + ' .one').getAttribute('d').match(/L/g) || [])"
           ".length > 1)")


def tile(job, index):
    """What the map says of a task, as an expression."""
    return ("[...document.querySelectorAll('#map button')].find(b =>"
            " b.querySelector('.name').textContent === '%s %d')"
            % (job, index))


def state_of(job, index):
    return "%s.querySelector('.state').textContent" % tile(job, index)


def get(task, accept=None):
    connection = http.client.HTTPConnection("127.0.0.1", task.port, timeout=10)
    try:
        connection.request("GET", "/", headers={"Accept": accept} if accept
                           else {})
        reply = connection.getresponse()
        return reply, reply.read().decode("utf8")
    finally:
        connection.close()


@test(**ONE)
def programs_get_text_and_browsers_a_page(cluster):
    task = cluster["worker", 0]
    for accept in (None, "*/*", "text/plain", "text/html;q=0", "text/*"):
        reply, text = get(task, accept)
        assert reply.getheader("Content-Type").startswith("text/plain"), accept
        assert text.startswith("tfd "), text
    pages = [get(task, "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8")
             for _ in range(2)]
    for reply, text in pages:
        assert reply.getheader("Content-Type") == "text/html; charset=utf-8"
        policy = reply.getheader("Content-Security-Policy")
        nonce = re.search("script-src 'nonce-([0-9a-f]{32})'", policy).group(1)
        assert "default-src 'none'" in policy, policy
        assert "unsafe" not in policy and "*" not in policy, policy
        assert text.count('nonce="%s"' % nonce) == 2, nonce
        assert "@NONCE@" not in text
        assert not re.search(r'(src|href)="https?:', text), "external"
    assert pages[0][1] != pages[1][1], "one nonce twice"


@test(limit=120, **TFD)
def a_dead_and_a_stuck_task_are_seen(server):
    with Cluster(server, ps=2, worker=2) as cluster, Browser() as browser, \
            graph():
        with tf.device("/job:ps/task:0"):
            v = tf.Variable(tf.zeros([100, 7]), name="weights",
                            use_resource=True)
            take = tf.queue.FIFOQueue(4, [tf.float32],
                                      shared_name="tokens").dequeue()
        with tf.device("/job:worker/task:0"):
            hostile = tf.queue.FIFOQueue(
                4, [tf.float32], shared_name="<script>alert(1)</script>")
        session = kept_session(cluster.target(), config=plain_config())
        session.run([v.initializer, hostile.size()])
        for _ in range(20):
            session.run(v)
        browser.open("http://" + cluster["worker", 0].address + "/")
        browser.until(LIVE)
        for key in cluster.tasks:
            browser.until(state_of(*key) + ".endsWith('up')")
        # The charts draw what two samples of the server tell.
        wait_until(lambda: session.run(v) is not None and browser.value(
            CHARTED), 40, "a line in the chart")
        browser.album("page-healthy")

        thread, errors = outcome(session, take)
        browser.until(state_of("worker", 0) + ".includes('step runs')", 40)
        browser.album("page-stuck")
        cluster["ps", 1].kill()
        cluster["worker", 1].signal(signal.SIGSTOP)
        browser.until(state_of("ps", 1) + ".includes('refused')")
        browser.until(state_of("worker", 1) + ".includes('silent')")
        browser.until(state_of("worker", 0) + ".includes('step runs')")
        said = browser.value("document.getElementById('said').textContent")
        assert said.startswith("3 tasks need a look"), said
        assert browser.value("document.querySelector('#tasks tbody tr td')"
                             ".textContent").startswith("\u2715")
        text = browser.value(
            "document.querySelector('#steps tbody tr').textContent")
        assert "/job:ps/task:0 (" in text and "queue tokens" in text, text
        browser.album("page-dead-and-stuck")

        # One click to a task; the keyboard does the same, and leaves again.
        browser.value(tile("ps", 1) + ".click()")
        shown = browser.until("!document.getElementById('task').hidden &&"
                              " document.getElementById('task').textContent")
        assert cluster["ps", 1].address in shown and "refused" in shown, shown
        href = browser.value("document.querySelector('#task a').href")
        assert href == "http://" + cluster["ps", 1].address + "/", href
        browser.album("page-task")
        browser.key("Escape", 27)
        browser.until("document.getElementById('task').hidden")
        assert browser.value("document.activeElement === " + tile("ps", 1))
        browser.key("Enter", 13, "\r")
        browser.until("!document.getElementById('task').hidden")

        # Names are texts: nothing of theirs became an element.
        assert "<script>alert(1)" in browser.value(
            "document.getElementById('resources').textContent")
        assert browser.value("document.querySelectorAll('script').length") == 1
        assert browser.value("document.querySelectorAll('img').length") == 0
        assert not browser.complaints(), browser.complaints()
        own = "http://%s/" % cluster["worker", 0].address
        strange = [u for u in browser.requests() if not u.startswith(own)]
        assert not strange, strange

        cluster["worker", 1].signal(signal.SIGCONT)
        browser.until(state_of("worker", 1) + ".endsWith('up')")
        session.close()
        thread.join(10)
        assert errors, "the step ended well"


@test(limit=60, **TFD)
def any_task_shows_the_whole_cluster(server):
    with Cluster(server, ps=1, worker=2) as cluster, Browser() as browser:
        for key in cluster.tasks:
            browser.open("http://" + cluster[key].address + "/")
            browser.until("document.title.includes('/job:%s/task:%d')" % key)
            for other in cluster.tasks:
                browser.until(state_of(*other) + ".endsWith('up')")


@test(limit=60, **ONE)
def it_pauses_and_says_when_nobody_answers(cluster):
    task = cluster["worker", 0]
    with Browser() as browser:
        browser.open("http://" + task.address + "/")
        browser.until(LIVE)
        browser.album("page-one-task")
        browser.value("document.getElementById('pause').click()")
        browser.until("document.getElementById('live').textContent =="
                      " 'paused'")
        asked = len(browser.requests())
        browser.value("new Promise(r => setTimeout(r, 3000))")
        assert len(browser.requests()) == asked, "it asks while it is paused"
        browser.value("document.getElementById('pause').click()")
        browser.until(LIVE)
        browser.value("fetch = () => Promise.reject(new Error('no route'))")
        browser.until("document.body.className === 'stale'")
        text = browser.value("document.getElementById('trouble').textContent")
        assert text == "No answer from this server: no route", text


# What assistive technology needs, as a script that names what is missing.
CHECKS = """(() => {
  const wrong = [], seen = (e) => e.checkVisibility();
  const name = (e) => e.getAttribute('aria-label') || e.textContent.trim();
  for (const e of document.querySelectorAll('button, a'))
    if (seen(e) && !name(e)) wrong.push('no name: ' + e.outerHTML);
  for (const t of document.querySelectorAll('table')) {
    if (!t.caption) wrong.push('no caption: ' + t.id);
    for (const h of t.querySelectorAll('th'))
      if (h.scope !== 'col') wrong.push('no scope: ' + h.textContent);
    if (!t.querySelector('th[aria-sort]')) wrong.push('no order: ' + t.id);
  }
  for (const e of document.querySelectorAll('svg'))
    if (e.getAttribute('role') !== 'img' || !e.getAttribute('aria-label'))
      wrong.push('svg: ' + e.id);
  const ids = [...document.querySelectorAll('[id]')].map((e) => e.id);
  if (new Set(ids).size !== ids.length) wrong.push('an id twice');
  for (const e of document.querySelectorAll('[aria-labelledby]'))
    if (!document.getElementById(e.getAttribute('aria-labelledby')))
      wrong.push('labelled by nothing');
  if (!document.documentElement.lang) wrong.push('no language');
  if (document.querySelectorAll('h1, main').length !== 2)
    wrong.push('one h1 and one main');
  const light = (c) => { const [r, g, b] = c.match(/[\\d.]+/g).map((x) => {
    x /= 255; return x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4;
    }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const back = (e) => { for (; e; e = e.parentElement) {
    const c = getComputedStyle(e).backgroundColor;
    if (!/, 0\\)$/.test(c) && c !== 'transparent') return c; }
    return 'rgb(255,255,255)'; };
  for (const e of document.querySelectorAll('h1,h2,h3,p,td,th,dt,dd,span,'
      + 'button,a,caption,summary')) {
    if (!seen(e) || !e.textContent.trim()) continue;
    const a = light(getComputedStyle(e).color), b = light(back(e));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) wrong.push(ratio.toFixed(1) + ': ' + e.textContent);
  }
  return wrong;
})()"""

MEMORY = 6  # the place of a column
OUTLINE = ("(({outlineStyle, outlineWidth}) => outlineStyle + ' ' +"
           " outlineWidth)(getComputedStyle(document.activeElement))")


@test(limit=60, **TFD)
def keyboard_and_screen_readers_find_their_way(server):
    with Cluster(server, ps=1, worker=1) as cluster, Browser() as browser:
        browser.open("http://" + cluster["worker", 0].address + "/")
        browser.until(state_of("ps", 0) + ".endsWith('up')")
        cluster["ps", 0].kill()
        browser.until(state_of("ps", 0) + ".includes('refused')")
        for scheme in ("light", "dark"):
            browser.media(scheme)
            wrong = browser.value(CHECKS)
            assert not wrong, (scheme, wrong)
            assert browser.value("getComputedStyle(%s).transitionDuration"
                                 % tile("ps", 0)) == "0s"
        browser.album("page-dead")
        focused = "document.activeElement.textContent"
        browser.key("Tab", 9)
        assert browser.value(focused) == "To the cluster"
        found = []
        for _ in range(8):
            browser.key("Tab", 9)
            found.append(browser.value(focused))
            assert browser.value(OUTLINE) == "solid 3px", found
        assert any(text.startswith("ps 0") for text in found), found
        browser.picture("page-focus")
        # The most first, then the least: what is said is what is seen.
        head = "document.querySelectorAll('#tasks th')[%d]"
        for order in ("descending", "ascending", "descending"):
            browser.value(head % MEMORY + ".firstChild.click()")
            assert browser.value(head % MEMORY + ".ariaSort") == order
            sizes = browser.value("last.cluster.tasks.map((t) =>"
                                  " bytes(t.memory_bytes))")
            seen = browser.value("[...document.querySelectorAll('#tasks td:"
                                 "nth-child(%d)')].map((e) => e.textContent)"
                                 % (MEMORY + 1))
            assert sorted(seen) == sorted(sizes), (seen, sizes)
            if len(set(sizes)) == 2:
                most = max(sizes, key=lambda text: float(text.split()[0]))
                assert seen.index(most) == (order == "ascending"), seen
        assert browser.value("document.querySelectorAll('#tasks th[aria-sort]"
                             "').length") == 1


@test(limit=60, **TFD)
def the_session_that_takes_most_memory_comes_first(server):
    with Cluster(server, worker=1) as cluster, Browser() as browser:
        made = []
        for count in (1 << 18, 4):  # the page is told of the youngest first
            with graph():
                total = tf.reduce_sum(tf.constant(np.random.rand(count)))
                made.append(kept_session(cluster.target()))
                made[-1].run(total)
        told = read(cluster["worker", 0])[0]["sessions"]["list"]
        sizes = [row["memory_bytes"] for row in told]
        assert sizes[0] < 1 << 20 < 2 << 20 <= sizes[1], sizes
        browser.open("http://" + cluster["worker", 0].address + "/")
        browser.until("document.querySelectorAll('#sessions tbody tr').length"
                      " === 2")
        first = browser.value(
            "document.querySelector('#sessions tbody tr').textContent")
        assert told[1]["session"] in first and "MiB" in first, first
        for session in made:
            session.close()
        browser.until("document.querySelectorAll('#sessions tbody tr').length"
                      " === 0 || !document.querySelector('#sessions tbody')"
                      ".textContent.includes('MiB')")
        assert not browser.complaints(), browser.complaints()


@test(limit=120, **TFD)
def it_works_with_200_tasks(server):
    with Cluster(server, start=False, worker=1) as cluster, \
            Browser() as browser:
        cluster.spec["worker"] += ["127.77.0.1:%d" % port
                                   for port in range(2001, 2200)]
        cluster.start("worker", 0)
        task = cluster["worker", 0]
        wait_until(lambda: states(read(task)[0])["worker", 199] == "refused",
                   10, "all states")
        took = browser.drawn(
            "http://" + task.address + "/",
            "document.querySelectorAll('#map button').length === 200")
        size = len(read(task)[1])
        print("200 tasks: drawn after %.0f ms, anything after %.0f ms; "
              "answers after %s ms; /status.json has %d bytes" % (
                  took["drawn"], took["first"], ", ".join(
                      "%s %.0f" % one for one in took["answers"].items()),
                  size))
        # 1 s where nothing else runs (tests/bench/sight); tests that run beside
        # this one take the processors from the browser.
        assert took["drawn"] < 5000 * server.slow, took
        assert size < 2000000, size
        browser.album("page-200-tasks")
        assert not browser.complaints(), browser.complaints()
