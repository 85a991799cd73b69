-- When the next scheduled campaign starts, whether one's time has come, and whether senders or loggers
-- have anything to do.
select coalesce((select min(start_at) from postroad.campaign
                  where state = 'scheduled' and start_at > (select postroad.now_ms())), 0) as next,
       exists (select from postroad.campaign
                where state = 'scheduled' and start_at <= (select postroad.now_ms())) as due,
       exists (select from postroad.job where state <> 'LOGGED') as live
