"""What mail providers report by callbacks: Amazon SES through SNS, Mailgun, Postmark."""
