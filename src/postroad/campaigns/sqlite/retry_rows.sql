-- Certain failures may be sent again.
update campaign_message set state = 'unsent', provider_id = '', error_code = '', sub_type = '',
       sent_at = 0, answered_at = 0, status = '', status_at = 0
 where campaign_id = ?1 and state = 'failed'
