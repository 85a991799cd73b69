-- The recipients of campaigns, and what is known about each.

-- name: recipient_page
-- Recipients in order, with their results and their cells.
select n, line, recipient, state, provider_id, error_code, sub_type, error, sent_at, answered_at, status, status_at, fields
  from postroad.campaign_message
 where campaign_id = $1 and ($2::text is null or state = $2) and n > $3 order by n limit $4

-- name: recipient_rows
-- Recipients with their cells, in order.
select n, tries, recipient, fields from postroad.campaign_message
 where campaign_id = $1 and n > $2 and (state = 'unsent' or not $4::boolean) order by n limit $3

-- name: recipients_settle
-- Settle uncertain recipients.
select postroad.campaign_settle($1, $2, $3)

-- name: recipient_callback
-- Apply what a provider reports about a recipient.
select postroad.campaign_callback($1, $2, $3, $4, $5, $6, $7)
