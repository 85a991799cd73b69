"""SMS and WhatsApp through a provider's HTTP API in Twilio's form."""
