/*
 * simulated radios of Wi-Fi report aggregates and limit the airtime of the frames that they hold
 *
 * why:      Without this change, the driver of simulated radios passes no information about
 *           aggregates to the medium, reports none to rate control, and takes any number of frames
 *           from the queues of mac80211 at once. The flags are those of
 *           crates/emu/src/wifi/frame.rs.
 * licence:  Dual MIT/GPL
 */

/*
 * file:     drivers/net/wireless/virtual/mac80211_hwsim.c
 * file:     drivers/net/wireless/virtual/mac80211_hwsim_main.c
 * replaces: if (info->flags & IEEE80211_TX_CTL_NO_ACK)
 *           hwsim_flags |= HWSIM_TX_CTL_NO_ACK;
 */
	if (info->flags & IEEE80211_TX_CTL_NO_ACK)
		hwsim_flags |= HWSIM_TX_CTL_NO_ACK;

	if (info->flags & IEEE80211_TX_CTL_AMPDU)
		hwsim_flags |= BIT(3);

/*
 * file:     drivers/net/wireless/virtual/mac80211_hwsim.c
 * file:     drivers/net/wireless/virtual/mac80211_hwsim_main.c
 * replaces: ieee80211_tx_status_irqsafe(data2->hw, skb);
 *           return 0;
 *           out:
 * why:      An unacknowledged frame of an aggregate leaves a gap, which a block acknowledgment
 *           request closes.
 */
	if (hwsim_flags & BIT(4)) {
		txi->flags |= IEEE80211_TX_STAT_AMPDU;
		txi->status.ampdu_len = (hwsim_flags >> 8) & 0xff;
		txi->status.ampdu_ack_len = (hwsim_flags >> 16) & 0xff;
	}
	if ((txi->flags & IEEE80211_TX_CTL_AMPDU) && !(hwsim_flags & HWSIM_TX_STAT_ACK))
		txi->flags |= IEEE80211_TX_STAT_AMPDU_NO_BACK;

	mac80211_hwsim_done(data2->hw, skb);
	return 0;
out:

/*
 * file:     drivers/net/wireless/virtual/mac80211_hwsim.c
 * file:     drivers/net/wireless/virtual/mac80211_hwsim_main.c
 * replaces: static int hwsim_tx_info_frame_received_nl(struct sk_buff *skb_2,
 * why:      A status reduces the pending airtime, so the next frames may leave the queues.
 */
static void mac80211_hwsim_done(struct ieee80211_hw *hw, struct sk_buff *skb)
{
	struct ieee80211_hdr *hdr = (struct ieee80211_hdr *)skb->data;
	struct ieee80211_sta *sta = NULL;
	u8 receiver[ETH_ALEN], sender[ETH_ALEN];
	bool data = ieee80211_is_data(hdr->frame_control);
	int i;

	ether_addr_copy(receiver, hdr->addr1);
	if (data)
		ether_addr_copy(sender, hdr->addr2);
	ieee80211_tx_status_ni(hw, skb);
	if (!data)
		return;

	local_bh_disable();
	rcu_read_lock();
	sta = ieee80211_find_sta_by_ifaddr(hw, receiver, sender);
	for (i = 0; sta && i < ARRAY_SIZE(sta->txq); i++)
		if (sta->txq[i])
			ieee80211_handle_wake_tx_queue(hw, sta->txq[i]);
	rcu_read_unlock();
	local_bh_enable();
}

static int hwsim_tx_info_frame_received_nl(struct sk_buff *skb_2,

/*
 * file:     drivers/net/wireless/virtual/mac80211_hwsim.c
 * file:     drivers/net/wireless/virtual/mac80211_hwsim_main.c
 * after:    ieee80211_hw_set(hw, AMPDU_AGGREGATION);
 */
	wiphy_ext_feature_set(hw->wiphy, NL80211_EXT_FEATURE_AQL);

/*
 * file:     drivers/net/wireless/virtual/mac80211_hwsim.c
 * file:     drivers/net/wireless/virtual/mac80211_hwsim_main.c
 * replaces: #define WARN_QUEUE 100
 *           #define MAX_QUEUE 200
 */
#define WARN_QUEUE 4000
#define MAX_QUEUE 5000
