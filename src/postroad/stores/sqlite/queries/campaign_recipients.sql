-- Recipients of campaigns: what is known about each.

-- name: recipient_insert
-- Insert a recipient, unless the campaign has it already.
insert into campaign_message (campaign_id, n, line, recipient, fields) values (?1, ?2, ?3, ?4, ?5)
on conflict (campaign_id, recipient) do nothing

-- name: recipient_page
-- Read a page of recipients, their results and their cells, in order.
select n, line, recipient, state, provider_id, error_code, sub_type, error, sent_at, answered_at, status, status_at, fields
  from campaign_message where campaign_id = ?1 and (?2 is null or state = ?2) and n > ?3
 order by n limit ?4

-- name: recipient_rows
-- Read a page of recipients with their cells, in order; all of them, or only the unsent ones.
select n, tries, recipient, fields from campaign_message
 where campaign_id = ?1 and n > ?2 and (state = 'unsent' or not ?4) order by n limit ?3

-- name: recipient_find
-- Read how a recipient stands.
select state, tries, provider_id, status, temporary from campaign_message where campaign_id = ?1 and n = ?2

-- name: recipient_result
-- Write the result of a call.
update campaign_message set state = ?3, tries = ?4, provider_id = ?5, error_code = ?6, sub_type = ?7,
       error = ?8, sent_at = ?9, answered_at = ?10, temporary = ?11
 where campaign_id = ?1 and n = ?2

-- name: recipient_taken
-- Note that the provider has accepted the message, whatever was recorded before.
update campaign_message set state = 'sent', temporary = 0, provider_id = ?3, error_code = case when state = 'sent' then error_code else '' end,
       sub_type = case when state = 'sent' then sub_type else 'by callback' end,
       error = case when state = 'sent' then error else '' end,
       tries = max(tries, ?4), sent_at = case when sent_at = 0 then ?5 else sent_at end,
       answered_at = case when answered_at = 0 then ?6 else answered_at end
 where campaign_id = ?1 and n = ?2

-- name: recipient_status
-- Write the provider's delivery status, if it is later than the stored one.
update campaign_message set status = ?3, status_at = ?4,
       error_code = case when ?5 <> '' then ?5 else error_code end
 where campaign_id = ?1 and n = ?2 and status in (select value from json_each(?6))

-- name: recipient_settle
-- Settle an uncertain recipient.
update campaign_message set state = ?3, sub_type = ?4, error = '', answered_at = ?5
 where campaign_id = ?1 and n = ?2 and state = 'uncertain'

-- name: recipients_uncertain
-- List the uncertain recipients of a campaign.
select n from campaign_message where campaign_id = ?1 and state = 'uncertain'

-- name: recipients_delete
-- Delete some recipients of a campaign.
delete from campaign_message where campaign_id = ?1
   and n in (select n from campaign_message where campaign_id = ?1 order by n limit ?2)

-- name: recipients_retry
-- Make the failed and the suppressed recipients of a campaign unsent again.
update campaign_message set state = 'unsent', provider_id = '', error_code = '', sub_type = '',
       error = '', sent_at = 0, answered_at = 0, status = '', status_at = 0, temporary = 0
 where campaign_id = ?1 and state in ('failed', 'suppressed')
