"""Know what is secret before anything is written or printed."""

from contextlib import suppress

from kedro.config import MissingConfigException
from kedro.framework.context import KedroContext
from kedro.framework.hooks import hook_impl

from idbpd.redaction import redact_logs, remember_credentials, remember_parameters


class SecretsHook:
    """Hides the project's credentials, and parameters whose names suggest a secret, in all logs and messages."""

    @hook_impl
    def after_context_created(self, context: KedroContext) -> None:
        """Remember the secrets, before other hooks complain about them."""
        loader = context.config_loader
        remember_parameters(loader.runtime_params or {})  # first: a wrong parameters file ends the run in the next line
        parameters = loader["parameters"]
        remember_parameters(parameters)
        loader["parameters"] = parameters  # Kedro would read and resolve all files again for everyone who asks
        with suppress(MissingConfigException):  # credentials.yml is optional
            remember_credentials(loader["credentials"])
        redact_logs()
