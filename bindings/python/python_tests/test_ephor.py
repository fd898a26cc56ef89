"""The package as its users call it."""
import threading
import unittest

import ephor

POLICY = """apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: no-latest}
spec:
  rules:
  - name: tag
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate: {message: pin the tag, pattern: {spec: {containers: [{image: "!*:latest"}]}}}
"""


def pod(image):
    return "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: c, image: '%s'}]}}" % image


class Package(unittest.TestCase):
    def test_a_pod_that_violates_a_policy_fails_with_message_and_place(self):
        [found] = ephor.evaluate(POLICY, [{"name": "pod.yaml", "text": pod("x:latest")}])["objects"]
        [result] = found["results"]
        self.assertEqual((found["name"], result["result"]), ("Pod default/a", "fail"))
        self.assertIn("pin the tag", result["message"])
        self.assertEqual((result["place"]["file"], result["place"]["line"]), ("pod.yaml", 1))
        [passed] = ephor.evaluate(POLICY, pod("x:1"))["objects"]
        self.assertEqual(passed["results"][0]["result"], "pass")

    def test_an_explanation_names_what_decided(self):
        [found] = ephor.explain(POLICY, pod("x:latest"))["objects"]
        texts = [decision["text"] for decision in found["decisions"][0]["decisions"]]
        self.assertTrue(any("x:latest" in text for text in texts), texts)

    def test_a_cluster_policy_is_rewritten_in_cel_with_a_proof(self):
        migrated = ephor.migrate(POLICY)
        self.assertIn("kind: ValidatingPolicy", migrated["text"])
        self.assertEqual(migrated["report"]["policies"][0]["status"], "proved")
        self.assertEqual(ephor.diff(POLICY, migrated["text"])["policies"][0]["answer"], "proved")

    def test_findings_have_a_place(self):
        findings = ephor.lint(POLICY.replace("kinds: [Pod]", "kinds: [Pods]"))["findings"]
        self.assertTrue(any(f["line"] == 7 and "Pods" in f["message"] for f in findings), findings)

    def test_expressions_of_both_languages_have_values(self):
        self.assertEqual(ephor.cel("object.a + 1", "{object: {a: 1}}")["value"], "2")
        self.assertEqual(ephor.jmespath("length(a)", "a: [1, 2]")["value"], "2")

    def test_what_cannot_be_read_is_an_error(self):
        with self.assertRaisesRegex(ephor.EphorError, "there is no policy"):
            ephor.migrate("")
        with self.assertRaisesRegex(ValueError, "Syntax error") as raised:
            ephor.cel("1 +")
        self.assertEqual(raised.exception.part, "expression")

    def test_threads_have_answers_at_the_same_time(self):
        answers = []
        threads = [threading.Thread(target=lambda: answers.append(ephor.evaluate(POLICY, pod("x:latest")))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(answers), 4)
        self.assertTrue(all(answer == answers[0] for answer in answers))

    def test_the_version_is_one(self):
        self.assertRegex(ephor.version(), r"^\d+\.\d+\.\d+")


if __name__ == "__main__":
    unittest.main()
