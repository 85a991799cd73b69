-- A recipient, unless it is there.
insert into campaign_message (campaign_id, n, line, recipient, fields) values (?1, ?2, ?3, ?4, ?5)
on conflict (campaign_id, recipient) do nothing
