"""SMS through a provider's HTTP API in Twilio's form."""
