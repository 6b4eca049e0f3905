"""`replan doctor` says what is exported, and what is asked for and not possible."""


def found(case, name):
    code, shown, _ = case.replan("doctor", "--json")
    (check,) = [check for check in shown["checks"] if check["name"] == name]
    return code, check["found"], check["ok"]


def test_doctor_says_what_is_exported(case):
    assert found(case, "telemetry")[1:] == ("traces and metrics", True)
    case.more = {"OTEL_METRICS_EXPORTER": "none", "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "true"}
    assert found(case, "telemetry")[1] == "traces with prompts and replies"
    case.more = {"OTEL_SDK_DISABLED": "true"}
    assert found(case, "telemetry")[1] == "off"
    case.more = {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}
    code, text, ok = found(case, "telemetry")
    assert (code, ok) == (1, False)
    assert "only http/protobuf is supported" in text


def test_doctor_names_webhooks_without_their_addresses(case):
    home = case.folder / "home"
    home.mkdir(mode=0o700)
    secret = "whsec_" + "A" * 32
    text = f"webhooks:\n  ops:\n    url: https://hooks.example.org/tok-123\n    secrets: [{secret}]\n"
    (home / "config.yaml").write_text(text)
    (home / "config.yaml").chmod(0o600)
    assert found(case, "webhooks")[1] == "ops"
    _, out, err = case.replan("doctor")
    assert "tok-123" not in out + err
    assert secret not in out + err
