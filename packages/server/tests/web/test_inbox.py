"""The inbox: what waits is shown, answered and declined without a script."""

import re

from packages.server.tests.web.world import served


def field(page, name):
    return re.search(rf'name="{name}" value="([^"]*)"', page)[1]


async def test_a_question_is_shown_and_answered_and_the_run_goes_on(tmp_path):
    async with served(tmp_path) as web:
        run = await web.start()
        await web.settled(run, "waiting")
        page = (await web.browser.get("/")).text
        assert "Which version is it?" in page
        assert f'href="/runs/{run}"' in page
        fields = {"version": field(page, "version"), "typed": "3.12", "do": "answer", "back": "/"}
        answer = await web.post(f"/questions/{run}/q1", fields)
        assert (answer.status_code, answer.headers["location"]) == (303, "/?done=answered")
        assert "The answer is recorded." in (await web.browser.get("/?done=answered")).text
        assert (await web.settled(run, "finished")).outcome == "success"
        assert "Nothing waits for you." in (await web.browser.get("/")).text


async def test_a_question_is_declined(tmp_path):
    async with served(tmp_path) as web:
        run = await web.start()
        await web.settled(run, "waiting")
        page = (await web.browser.get(f"/questions/{run}/q1")).text
        assert "Decline to answer</button>" in page
        fields = {"version": field(page, "version"), "do": "decline", "typed": "", "back": f"/runs/{run}"}
        answer = await web.post(f"/questions/{run}/q1", fields)
        assert answer.headers["location"] == f"/runs/{run}?done=declined"
        assert "The run continues as the question says" in (await web.browser.get(answer.headers["location"])).text
        await web.settled(run, "finished")


async def test_an_answer_that_does_not_fit_keeps_what_was_typed(tmp_path):
    async with served(tmp_path, hosts=False) as web:
        run = await web.start()
        await web.engine.resume(run)
        version = field((await web.browser.get("/")).text, "version")
        answer = await web.post(f"/questions/{run}/q1", {"version": version, "typed": "   ", "do": "answer"})
        assert answer.status_code == 422
        assert "the question stays open" in answer.text
        assert "No host drives" in (await web.browser.get("/")).text


async def test_a_form_of_another_version_of_a_question_is_refused(tmp_path):
    async with served(tmp_path, hosts=False) as web:
        run = await web.start()
        await web.engine.resume(run)
        answer = await web.post(f"/questions/{run}/q1", {"version": "0" * 16, "typed": "3.12", "do": "answer"})
        assert answer.status_code == 409
        assert (await web.engine.result(run)).status == "waiting"


async def test_a_question_says_until_when_an_answer_helps_and_a_moved_deadline_changes_no_form(tmp_path):
    async with served(tmp_path, hosts=False) as web:
        run, endless = await web.start(limits={"deadline": 7200}), await web.start()
        for each in (run, endless):
            await web.engine.resume(each)
        page = (await web.browser.get("/")).text
        assert page.count("answer within") == 1
        assert "1h</time>" in page
        version = field((await web.browser.get(f"/questions/{run}/q1")).text, "version")
        assert (await web.post(f"/runs/{run}/limits", {"deadline": "50h"})).status_code == 303
        assert "2d</time>" in (await web.browser.get("/")).text
        answer = await web.post(f"/questions/{run}/q1", {"version": version, "typed": "3.12", "do": "answer"})
        assert answer.headers["location"] == "/?done=answered"


async def test_a_run_is_told_something_from_the_inbox(tmp_path):
    async with served(tmp_path, hosts=False) as web:
        run = await web.start()
        await web.engine.resume(run)
        assert f'id="form-tell-{run}-q1"' in (await web.browser.get("/")).text
        told = await web.post(f"/runs/{run}/tell", {"text": "Use 3.12", "as": "note", "back": "/"})
        assert told.headers["location"] == "/?done=told"
        away = await web.post(f"/runs/{run}/tell", {"text": "Use 3.12 too", "as": "note", "back": "//evil.example"})
        assert away.headers["location"] == f"/runs/{run}?done=told"


async def asking(web, count):
    """Start runs that ask the same question, drive them until they wait, and return their ids."""
    runs = [await web.start() for _ in range(count)]
    for run in runs:
        await web.engine.resume(run)
    return runs


async def test_equal_questions_of_several_runs_are_answered_together_each_recorded_for_itself(tmp_path):
    async with served(tmp_path, hosts=False) as web:
        first, *others = runs = await asking(web, 4)
        page = (await web.browser.get("/")).text
        assert page.count("Which version is it?") == 1
        assert "3 more runs ask the same question." in page
        assert all(f'value="{run}/q1"' in page for run in others)
        ticked = [f"{run}/q1" for run in others[:2]]
        fields = {"version": field(page, "version"), "typed": "3.12", "do": "answer", "back": "/", "also": ticked}
        answer = await web.post(f"/questions/{first}/q1", fields)
        assert answer.headers["location"] == "/?done=answered"
        answers = [(await web.engine.common_with_inbox(run)).questions["q1"].answer for run in runs]
        assert answers == ["3.12", "3.12", "3.12", ""]
        again = await web.post(f"/questions/{first}/q1", fields)
        assert again.headers["location"] == "/?done=duplicate"


async def test_no_answer_is_recorded_if_one_of_the_ticked_questions_is_closed_or_another_one(tmp_path):
    async with served(tmp_path, hosts=False) as web:
        first, second, third = await asking(web, 3)
        version = field((await web.browser.get("/")).text, "version")
        await web.engine.answer(f"{third}/q1", "3.11", via="cli")
        for wrong in (f"{third}/q1", f"{second}/q7", f"{first}/q1"):
            fields = {"version": version, "typed": "3.12", "do": "answer", "also": [f"{second}/q1", wrong]}
            answer = await web.post(f"/questions/{first}/q1", fields)
            assert answer.status_code == 409
            assert "nothing was recorded" in answer.text
        fields = {"version": version, "typed": "   ", "do": "answer", "also": [f"{second}/q1"]}
        unfit = await web.post(f"/questions/{first}/q1", fields)
        assert unfit.status_code == 422
        assert f'value="{second}/q1"' in unfit.text
        for run in (first, second):
            assert (await web.engine.common_with_inbox(run)).open_questions


async def test_equal_questions_are_declined_together(tmp_path):
    async with served(tmp_path, hosts=False) as web:
        first, second = await asking(web, 2)
        page = (await web.browser.get("/")).text
        assert "One more run asks the same question." in page
        fields = {"version": field(page, "version"), "do": "decline", "typed": "", "also": [f"{second}/q1"]}
        assert (await web.post(f"/questions/{first}/q1", fields)).headers["location"] == "/?done=declined"
        assert "Nothing waits for you." in (await web.browser.get("/")).text
