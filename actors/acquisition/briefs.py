"""What the model is handed with an open call: the messages, the schema of the reply and the limits. Pure."""

from actors.acquisition.call_events import AcquisitionCall, DecompositionRequested, ObservationRequested
from actors.acquisition.prompt import material, rendered
from actors.acquisition.reply_schemas import SCHEMAS
from actors.acquisition.state import State
from runtime.models.port import ModelRequest


def model_request(state: State, request: AcquisitionCall) -> ModelRequest:
    """Return the request to the model for a try of a call."""
    purpose = request.step
    path = request.path if isinstance(request, ObservationRequested | DecompositionRequested) else ""
    prompt = rendered(state, purpose, path)
    return ModelRequest(
        request_id=request.request_id,
        purpose=purpose,
        system=prompt.system,
        user=prompt.user,
        timeout_seconds=request.timeout_seconds or state.config.timeout_seconds,
        output_tokens_max=state.config.output_tokens_max,
        schema=SCHEMAS[purpose],
        schema_name=purpose,
        material=material(state, purpose, path),
        run=state.run.run_id,
    )
